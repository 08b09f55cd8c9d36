import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { openGguf } from '../../../../src-main/engine/models/gguf/file.ts'
import { fixture, userError } from '../fixtures.ts'

// Written by the Python package gguf; test/parity/gguf-blocks.py tells how, and says the same values.
const path = fixture('gguf', 'container.gguf')

it('values of every type come out of a file by the reference writer', async () => {
  const { metadata, version, close } = await openGguf(path)
  await close()
  expect(version).toBe(3)
  expect(Object.fromEntries(metadata)).toEqual({
    'general.architecture': 'llama', 'general.alignment': 64,
    'a.uint8': 200, 'a.int8': -100, 'a.uint16': 60_000, 'a.int16': -30_000, 'a.uint32': 4_000_000_000, 'a.int32': -2_000_000_000, 'a.uint64': 2 ** 40, 'a.int64': -(2 ** 40),
    'a.float32': Math.fround(0.1), 'a.float64': 0.1, 'a.bool': true, 'a.string': 'Grüße 👋', 'a.strings': ['x', '', 'y z'], 'a.numbers': [1, 2, 3], 'a.flags': [true, false], 'a.floats': [0.5, -0.25],
  })
})

it('so do tensors, at an alignment of its own', async () => {
  const { tensors, readFloat32, close } = await openGguf(path)
  expect([...tensors.values()].map(({ name, type, shape, offset }) => ({ name, type, shape, aligned: offset % 64 }))).toEqual([
    { name: 'matrix', type: 'F32', shape: [2, 3], aligned: 0 },
    { name: 'packed', type: 'Q4_K', shape: [3, 256], aligned: 0 },
    { name: 'half', type: 'F16', shape: [2], aligned: 0 },
  ])
  expect([...(await readFloat32('matrix'))]).toEqual([0, 1, 2, 3, 4, 5])
  expect([...(await readFloat32('half'))]).toEqual([1.5, -2])
  const golden = JSON.parse(readFileSync(fixture('gguf', 'blocks.json'), 'utf8')) as { read: { Q4_K: { values: string } } }
  const expected = new Float32Array(Uint8Array.from(Buffer.from(golden.read.Q4_K.values, 'base64')).buffer)
  expect(await readFloat32('packed')).toEqual(expected)
  expect((await userError(() => readFloat32('none'))).what).toBe('the file holds no tensor of this name')
  await close()
})
