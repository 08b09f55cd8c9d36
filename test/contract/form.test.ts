import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { field } from '../../src-main/contract/field.ts'
import { formOf } from '../../src-main/contract/form.ts'
import type { FormNode } from '../../src-main/contract/form.ts'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'

/** Every field of a form, variants included. */
function fieldsOf(nodes: readonly FormNode[]): Extract<FormNode, { kind: 'field' }>[] {
  return nodes.flatMap((node) => (node.kind === 'field' ? [node] : node.kind === 'block' ? fieldsOf(node.children) : node.options.flatMap(({ children }) => fieldsOf(children))))
}

describe('the form of a schema', () => {
  it('finds control, explanation and emptiness under any wrapping', () => {
    const schema = z.strictObject({
      version: z.literal(1).default(1),
      amount: field(z.number().nullable().default(null), 'tokens', 'A paper', 'How many.'),
      mode: z.enum(['a', 'b']).default('a'),
      on: z.boolean().optional(),
      names: z.array(z.enum(['x', 'y'])),
      counts: z.array(z.number()).default([1]),
      inner: z.strictObject({ text: z.string() }).prefault({ text: '' }),
      rare: z.strictObject({ a: z.number() }).nullable().default(null),
    })
    const meta = { unit: '', origin: '', help: '' }
    expect(formOf(schema)).toEqual([
      { kind: 'field', path: ['amount'], control: { kind: 'number' }, nullable: true, meta: { unit: 'tokens', origin: 'A paper', help: 'How many.' } },
      { kind: 'field', path: ['mode'], control: { kind: 'choice', options: ['a', 'b'] }, nullable: false, meta },
      { kind: 'field', path: ['on'], control: { kind: 'switch' }, nullable: false, meta },
      { kind: 'field', path: ['names'], control: { kind: 'choices', options: ['x', 'y'] }, nullable: false, meta },
      { kind: 'field', path: ['counts'], control: { kind: 'list' }, nullable: false, meta },
      { kind: 'block', path: ['inner'], help: '', children: [{ kind: 'field', path: ['inner', 'text'], control: { kind: 'text' }, nullable: false, meta }] },
      { kind: 'field', path: ['rare'], control: { kind: 'json' }, nullable: true, meta },
    ])
  })

  it('offers the kinds of a block by name', () => {
    const schema = z.strictObject({ way: z.discriminatedUnion('kind', [z.strictObject({ kind: z.literal('one') }), z.strictObject({ kind: z.literal('two').optional().default('two'), size: z.number() })]) })
    expect(formOf(schema)).toMatchObject([{ kind: 'variants', path: ['way'], by: 'kind', options: [{ name: 'one', children: [] }, { name: 'two', children: [{ path: ['way', 'size'] }] }] }])
  })

  it('holds every field of a run, each with its sentence', () => {
    const nodes = formOf(runConfigSchema)
    const fields = fieldsOf(nodes)
    expect(fields.length).toBeGreaterThan(100)
    expect(fields.filter(({ meta }) => meta.help === '').map(({ path }) => path.join('.'))).toEqual([])
    expect(nodes.map(({ path }) => path[0])).toContain('estimator')
    for (const path of ['rollout.groupSize', 'loss.dualClip', 'adapter.targets', 'reward.ladder.parse', 'estimator.sigmaFloor']) expect(fields.map((one) => one.path.join('.'))).toContain(path)
  })
})
