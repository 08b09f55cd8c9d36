import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { barredLines, numberedLines, readJudgePrompts, type JudgeRole } from '../../../../src-main/engine/rewards/judge/judge-prompts.ts'
import { resourcePath } from '../../../../src-main/engine/runtime/paths.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-prompts-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const read = async (text: string, role: JudgeRole = 'code', needed: string[] = []) => {
  const file = join(folder, 'prompts.txt')
  await writeFile(file, text)
  return readJudgePrompts(role, file, needed)
}

describe('prompt files of judges', () => {
  it('fill in what is judged, and nothing of it is read as a placeholder', async () => {
    const prompts = await read('For whoever reads this.\r\n=== system ===\r\nYou judge.\r\n\r\n=== score ===\r\nTask: {{prompt}}\r\nProgram: {{ code }}\r\nSCORE: n\r\n')
    expect(prompts.fill('system', {})).toBe('You judge.')
    expect(prompts.fill('score', { prompt: 'a {{code}} $& list', code: '1 | x' })).toBe('Task: a {{code}} $& list\nProgram: 1 | x\nSCORE: n')
    expect(prompts.has('lines')).toBe(false)
  })

  it.each([
    ['=== system ===\nYou judge.', 'section score is missing'],
    ['=== score ===\n{{code}}', 'section lines is missing'],
    ['=== score ===\n{{code}}\n=== lines ===\n', 'section lines is empty'],
    ['=== score ===\n{{code}}\n=== lines ===\nx\n=== scores ===\nx', 'nothing reads the section scores'],
    ['=== score ===\n{{program}}\n=== lines ===\nx', '{{program}} in the section score stands for nothing'],
  ])('that say too little or too much are refused: %j', async (text, message) => {
    await expect(read(text, 'code', ['lines'])).rejects.toThrow(message)
  })

  it('that are not there are named', async () => {
    await expect(readJudgePrompts('code', join(folder, 'nowhere.txt'))).rejects.toThrow(/nowhere\.txt, promptFile: the judge's prompts cannot be read/)
  })

  it('come with Satchel for every role, complete, and the screenshot judge is never shown the code', async () => {
    const names = (await readdir(resourcePath('prompts'))).filter((name) => name.startsWith('judge-')).sort()
    expect(names).toEqual(['judge-answer.txt', 'judge-code.txt', 'judge-screenshot.txt', 'judge-steps.txt'])
    const code = await readJudgePrompts('code', '', ['system', 'lines', 'score-and-lines'])
    expect(code.fill('score', { prompt: 'P', code: 'C' })).toMatch(/P[^]*C[^]*SCORE: n$/)
    for (const role of ['answer', 'screenshot', 'steps'] as const) expect((await readJudgePrompts(role, '')).fill(role === 'steps' ? 'steps' : 'score', { prompt: 'THE TASK' })).toContain('THE TASK')
    expect((await readJudgePrompts('screenshot', '')).source).not.toContain('{{code}}')
  })
})

describe('what is judged', () => {
  it('has its lines numbered or barred, so that none of them passes for a heading or a fence', () => {
    expect(numberedLines('a\r\n```\nc'.replace('c', '=== system ==='))).toBe('1 | a\n2 | ```\n3 | === system ===')
    expect(numberedLines(Array.from({ length: 10 }, () => 'x').join('\n')).split('\n')[0]).toBe(' 1 | x')
    expect(barredLines('a\n\nb')).toBe('| a\n| \n| b')
  })
})
