// The part of onnx.proto (ONNX IR version 10) that the writer uses, as a protobufjs description.
import protobuf from 'protobufjs'

const repeated = (type: string, id: number): { rule: 'repeated'; type: string; id: number } => ({ rule: 'repeated', type, id })
const single = (type: string, id: number): { type: string; id: number } => ({ type, id })

const root = protobuf.Root.fromJSON({
  nested: {
    ModelProto: { fields: { irVersion: single('int64', 1), producerName: single('string', 2), opsetImport: repeated('OperatorSetIdProto', 8), graph: single('GraphProto', 7) } },
    OperatorSetIdProto: { fields: { domain: single('string', 1), version: single('int64', 2) } },
    GraphProto: {
      fields: { node: repeated('NodeProto', 1), name: single('string', 2), initializer: repeated('TensorProto', 5), input: repeated('ValueInfoProto', 11), output: repeated('ValueInfoProto', 12) },
    },
    NodeProto: { fields: { input: repeated('string', 1), output: repeated('string', 2), name: single('string', 3), opType: single('string', 4), attribute: repeated('AttributeProto', 5), domain: single('string', 7) } },
    AttributeProto: {
      fields: { name: single('string', 1), f: single('float', 2), i: single('int64', 3), s: single('bytes', 4), t: single('TensorProto', 5), ints: repeated('int64', 8), type: single('int32', 20) },
    },
    TensorProto: { fields: { dims: repeated('int64', 1), dataType: single('int32', 2), name: single('string', 8), rawData: single('bytes', 9), externalData: repeated('StringStringEntryProto', 13), dataLocation: single('int32', 14) } },
    StringStringEntryProto: { fields: { key: single('string', 1), value: single('string', 2) } },
    ValueInfoProto: { fields: { name: single('string', 1), type: single('TypeProto', 2) } },
    TypeProto: { fields: { tensorType: single('TensorTypeProto', 1) } },
    TensorTypeProto: { fields: { elemType: single('int32', 1), shape: single('TensorShapeProto', 2) } },
    TensorShapeProto: { fields: { dim: repeated('DimensionProto', 1) } },
    DimensionProto: { fields: { dimValue: single('int64', 1), dimParam: single('string', 2) } },
  },
})

/** Encodes a plain object of ModelProto's shape. */
export function encodeModel(model: Record<string, unknown>): Uint8Array {
  const type = root.lookupType('ModelProto')
  return type.encode(type.create(model)).finish()
}
