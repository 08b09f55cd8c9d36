// The one file that knows onnxruntime. Everything else sees devices, programs and tensors.
//
// A program is a compiled graph. Weights are usually its inputs: on the CPU a typed array is passed without a copy, so an
// optimizer that writes into the array has updated the model; on WebGPU tensors stay on the device between calls.
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import * as ort from 'onnxruntime-node'
import { UserError } from '../../contract/errors.ts'
import { Graph, liveInputs, op, writeOnnxParts, type ElementType, type Shape } from '../graph/index.ts'

export type DeviceKind = 'cpu' | 'webgpu'
export type HostArray = Float32Array | Int32Array | BigInt64Array
/** A tensor on the host or on the device. */
export type Tensor = ort.Tensor
export type Tensors = Readonly<Record<string, Tensor>>

export interface Program {
  readonly name: string
  /** Names of the inputs the program reads. */
  readonly inputNames: readonly string[]
  /** Symbolic shape of an input. */
  inputShape(name: string): Shape
  /**
   * Runs once; blocks until done. `into` gives tensors to write outputs into (a cache may be its own output). Extra feeds are an error, and
   * so is `into` for a WebGPU program with resident outputs: onnxruntime would leave the given tensors alone and make new ones.
   */
  run(feeds: Tensors, into?: Tensors): Promise<Record<string, Tensor>>
  release(): Promise<void>
}

export interface Device {
  readonly kind: DeviceKind
  readonly threads: number
  /** Compiles a graph. Outputs named in `resident` stay on the device (no effect on the CPU, where everything is host memory). */
  compile(graph: Graph, options?: { readonly resident?: readonly string[] }): Promise<Program>
  /** Wraps host data without copying. */
  tensor(data: HostArray, dims: readonly number[]): Tensor
  /** A tensor that lives on the device. On the CPU this is `tensor`. */
  upload(data: Float32Array, dims: readonly number[]): Promise<Tensor>
  /** Host copy of a float tensor (on the CPU the data itself, not a copy). */
  read(tensor: Tensor): Promise<Float32Array>
  /**
   * Gives memory back at once; nothing may read these tensors, or the arrays they wrap, again. The collector would free them too, but it
   * looks through everything each time enough host memory has come together, and a decode step alone makes half a megabyte.
   */
  discard(tensors: readonly Tensor[]): void
  dispose(): Promise<void>
}

export interface DeviceOptions {
  /** Processor threads; 0 leaves the choice to onnxruntime (all cores). */
  readonly threads?: number
}

/** Initializers of this size and more are handed over beside the model: a model may not exceed 2 GiB, and nothing is copied to build it. */
const BESIDE_BYTES = 65_536

const elementTypes: Readonly<Record<string, ElementType>> = { float32: 'float32', int32: 'int32', int64: 'int64', uint8: 'uint8', bool: 'bool' }

function sessionOptions(kind: DeviceKind, threads: number, resident: readonly string[]): ort.InferenceSession.SessionOptions {
  return {
    executionProviders: kind === 'cpu' ? ['cpu'] : ['webgpu', 'cpu'],
    graphOptimizationLevel: 'all',
    executionMode: 'sequential',
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // Shapes change from batch to batch; a memory plan for each of them nearly doubles the peak (measured) and gains no time.
    enableMemPattern: false,
    logSeverityLevel: 3,
    ...(kind === 'webgpu' && resident.length > 0 ? { preferredOutputLocation: Object.fromEntries(resident.map((name) => [name, 'gpu-buffer' as const])) } : {}),
  }
}

function wrap(data: HostArray, dims: readonly number[]): Tensor {
  if (data instanceof Float32Array) return new ort.Tensor('float32', data, dims)
  return data instanceof Int32Array ? new ort.Tensor('int32', data, dims) : new ort.Tensor('int64', data, dims)
}

async function compile(kind: DeviceKind, threads: number, graph: Graph, resident: readonly string[]): Promise<Program> {
  const inputs = new Map(liveInputs(graph).map((input) => [input.name, input]))
  let session: ort.InferenceSession
  try {
    const { model, beside } = writeOnnxParts(graph, kind, BESIDE_BYTES)
    session = await ort.InferenceSession.create(model, { ...sessionOptions(kind, threads, resident), ...(beside.length === 0 ? {} : { externalData: beside }) })
  } catch (cause) {
    throw new UserError(
      { code: 'device', what: `the ${kind} device could not load the graph ${graph.name}: ${cause instanceof Error ? cause.message : String(cause)}`, remedy: 'Run `satchel doctor` to see what this machine can do, or choose --device cpu.' },
      { cause },
    )
  }
  const checkFeeds = (feeds: Tensors): void => {
    const sizes = new Map<string, number>()
    for (const [name, tensor] of Object.entries(feeds)) {
      const input = inputs.get(name)
      if (input === undefined) throw new Error(`${graph.name} has no input ${name}`)
      const fits = tensor.dims.length === input.shape.length && elementTypes[tensor.type] === input.type && tensor.dims.every((size, axis) => {
        const dimension = input.shape[axis] as number | string
        if (typeof dimension === 'number') return dimension === size
        const known = sizes.get(dimension)
        sizes.set(dimension, size)
        return known === undefined || known === size
      })
      if (!fits) throw new Error(`${graph.name}: input ${name} is ${tensor.type} [${tensor.dims.join(', ')}], expected ${input.type} [${input.shape.join(', ')}]`)
    }
    for (const name of inputs.keys()) if (feeds[name] === undefined) throw new Error(`${graph.name}: input ${name} is missing`)
  }
  return {
    name: graph.name,
    inputNames: [...inputs.keys()],
    inputShape(name) {
      const input = inputs.get(name)
      if (input === undefined) throw new Error(`${graph.name} has no input ${name}`)
      return input.shape
    },
    async run(feeds, into) {
      checkFeeds(feeds)
      if (into === undefined) return session.run(feeds)
      if (kind === 'webgpu' && resident.length > 0) throw new Error(`${graph.name} has resident outputs on webgpu; it cannot also write into given tensors`)
      const outputs = await session.run(feeds, Object.fromEntries(graph.outputs.map(({ name }) => [name, into[name] ?? null])))
      // Of what it wrote into given tensors onnxruntime returns copies.
      discard(Object.entries(outputs).flatMap(([name, output]) => (into[name] === undefined ? [] : [output])))
      return { ...outputs, ...into }
    },
    release: () => session.release(),
  }
}

/** A model file as any program sees it: what it asks for and what it gives. */
export interface ModelFile {
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  /** Shape of an input as the file declares it: numbers and symbols. */
  inputShape(name: string): Shape
  run(feeds: Tensors): Promise<Record<string, Tensor>>
  release(): Promise<void>
}

/**
 * Opens an ONNX file on the CPU; weights in files beside it are found by onnxruntime.
 * @param lean use the files' bytes as they lie on the disk: nothing is widened or packed ahead, which saves a copy and costs time
 * @throws UserError `bad-input` when onnxruntime refuses it
 */
export async function openModelFile(path: string, threads: number, lean = false): Promise<ModelFile> {
  const options = sessionOptions('cpu', threads, [])
  let session: ort.InferenceSession
  try {
    session = await ort.InferenceSession.create(path, lean ? { ...options, graphOptimizationLevel: 'disabled', enableCpuMemArena: false, extra: { session: { disable_prepacking: '1' } } } : options)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new UserError({ code: 'bad-input', what: `onnxruntime cannot load the model: ${why}`, place: { file: path }, remedy: 'The file is damaged, or one that belongs beside it is missing.' }, { cause })
  }
  return {
    inputNames: session.inputNames,
    outputNames: session.outputNames,
    inputShape(name) {
      const found = session.inputMetadata.find((input) => input.name === name)
      if (found?.isTensor !== true) throw new Error(`${path} has no input ${name}`)
      return found.shape
    },
    run: (feeds) => session.run(feeds),
    release: () => session.release(),
  }
}

/** Starts a device. WebGPU is tried by a first tiny program; a provider that cannot start is an error that says why. */
export async function createDevice(kind: DeviceKind, options: DeviceOptions = {}): Promise<Device> {
  const threads = options.threads ?? 0
  const movers = kind === 'webgpu' ? await createMovers(threads) : undefined
  return {
    kind,
    threads,
    compile: (graph, { resident = [] } = {}) => compile(kind, threads, graph, resident.filter((name) => graph.outputs.some((output) => output.name === name))),
    tensor: wrap,
    async upload(data, dims) {
      return movers === undefined ? wrap(data, dims) : movers.up(wrap(data, dims))
    },
    async read(tensor) {
      if (tensor.location === 'cpu') return tensor.data as Float32Array
      if (movers === undefined) throw new Error('a device tensor reached the CPU device')
      return (await movers.down(tensor)).data as Float32Array
    },
    discard,
    dispose: async () => movers?.release(),
  }
}

/** What is transferred to a port without another end is detached and dropped with the message: the one way to free a buffer that Node 20 knows. */
let nowhere: MessagePort | undefined
function discard(tensors: readonly Tensor[]): void {
  if (nowhere === undefined) {
    const { port1, port2 } = new MessageChannel()
    port2.close()
    nowhere = port1
  }
  for (const tensor of tensors) if (tensor.location !== 'cpu') tensor.dispose()
  nowhere.postMessage(null, tensors.flatMap((tensor) => (tensor.location === 'cpu' ? [(tensor.data as HostArray).buffer as ArrayBuffer] : [])))
}

interface Movers {
  up(tensor: Tensor): Promise<Tensor>
  down(tensor: Tensor): Promise<Tensor>
  release(): Promise<void>
}

/**
 * getData() on a device tensor aborts the process (onnxruntime-node 1.30.0), so data moves through programs that copy: one for each
 * direction and rank, as a device tensor cannot be reshaped from outside either.
 */
async function createMovers(threads: number): Promise<Movers> {
  const programs = new Map<string, Promise<Program>>()
  const move = async (tensor: Tensor, resident: readonly string[]): Promise<Tensor> => {
    const rank = tensor.dims.length
    const name = `${resident.length > 0 ? 'upload' : 'download'}_${rank}`
    let program = programs.get(name)
    if (program === undefined) {
      const graph = new Graph(name)
      // No arithmetic: a graphics card would round the smallest numbers to zero, and the bits must come back as they were.
      graph.output('y', op.identity(graph.input('x', 'float32', Array.from({ length: rank }, (_, axis) => `N${axis}`))))
      program = compile('webgpu', threads, graph, resident)
      programs.set(name, program)
    }
    return (await (await program).run({ x: tensor }))['y'] as Tensor
  }
  const movers: Movers = {
    up: (tensor) => move(tensor, ['y']),
    down: (tensor) => move(tensor, []),
    async release() {
      for (const program of programs.values()) await (await program).release()
    },
  }
  const probe = await movers.up(wrap(Float32Array.of(1, 2), [2]))
  if ((await movers.down(probe)).data[1] !== 2) throw new UserError({ code: 'device', what: 'the webgpu device returned a wrong number in its first test', remedy: 'Choose --device cpu.' })
  probe.dispose()
  return movers
}

/** Version of onnxruntime in use and the providers its binary carries, for `doctor` and run.json. */
export function runtimeVersions(): { readonly onnxruntime: string; readonly backends: readonly { readonly name: string; readonly bundled: boolean }[] } {
  return { onnxruntime: ort.env.versions.node ?? ort.env.versions.common, backends: ort.listSupportedBackends().map(({ name, bundled }) => ({ name, bundled })) }
}
