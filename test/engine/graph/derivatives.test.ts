// Every derivative of the table against central finite differences of the operator itself.
import { describe, expect, it } from 'vitest'
import { derivatives } from '../../../src-main/engine/graph/derivatives.ts'
import { Graph, gradients, op } from '../../../src-main/engine/graph/index.ts'
import { caseFeeds, caseValues, derivativeCases, lossGraph } from '../../support/derivative-cases.ts'
import { evaluate } from '../../support/evaluate.ts'

describe('derivative table', () => {
  it('has a case here for every entry', () => {
    expect([...new Set(derivativeCases.map((testCase) => testCase.operator))].sort()).toEqual(Object.keys(derivatives).sort())
  })

  it.each(derivativeCases)('$operator $title agrees with finite differences', async (testCase) => {
    const graph = lossGraph(testCase)
    const values = caseValues(testCase)
    const feeds = caseFeeds(testCase, values)
    const analytic = await evaluate(graph, feeds)
    const step = 1 / 128
    for (const [index, data] of values.entries()) {
      const gradient = analytic[`g${index}`]!
      expect(gradient.dims).toEqual(testCase.shapes[index])
      for (let at = 0; at < data.length; at++) {
        const before = data[at]!
        data[at] = before + step
        const high = (await evaluate(graph, feeds))['loss']!.data[0]!
        data[at] = before - step
        const low = (await evaluate(graph, feeds))['loss']!.data[0]!
        data[at] = before
        const numeric = (high - low) / (2 * step)
        expect(Math.abs(numeric - gradient.data[at]!), `input ${index} element ${at}: numeric ${numeric}, analytic ${gradient.data[at]}`).toBeLessThan(2e-3 + 2e-3 * Math.abs(numeric))
      }
    }
  })

  it('names an operator without a derivative', () => {
    const graph = new Graph('none')
    const x = graph.input('x', 'float32', [4])
    const y = graph.within('layer', () => op.cast(op.cast(x, 'int32'), 'float32'))
    expect(() => gradients([{ value: y, gradient: y }], [x])).toThrow(/operator Cast \(\/layer\/Cast.*has no derivative/)
  })

  it('refuses a parameter that nothing depends on', () => {
    const graph = new Graph('unused')
    const x = graph.input('x', 'float32', [4])
    const w = graph.input('w', 'float32', [4])
    const y = op.neg(x)
    expect(() => gradients([{ value: y, gradient: y }], [w])).toThrow(/w does not influence/)
  })
})
