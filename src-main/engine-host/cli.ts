#!/usr/bin/env node
// The program `satchel`. Every command answers with a CommandResult; printing, --json and exit codes live in one place.
import { Command, CommanderError } from 'commander'
import { UserError } from '../contract/errors.ts'
import { satchelVersion } from '../engine/training/run-folder.ts'
import { addAdvantageCommand } from './cli-advantages.ts'
import { addControlCommand } from './cli-control.ts'
import { addExportCommand } from './cli-export.ts'
import { addInferenceCommands } from './cli-inference.ts'
import { addJudgeCommand } from './cli-judge.ts'
import { addModelCommands } from './cli-models.ts'
import { printFailure, printResult } from './cli-output.ts'
import type { CommandResult } from './cli-output.ts'
import { addProblemCommands } from './cli-problems.ts'
import { addScoreCommands } from './cli-score.ts'
import { addTrainingCommands } from './cli-train.ts'
import { doctor, probe } from './doctor.ts'

/** Builds the program. `json` is told by the command that runs. */
function createProgram(asJson: (json: boolean) => void): Command {
  const program = new Command('satchel')
    .description('Trains small language models with reinforcement learning on this machine. Nothing leaves it.')
    .version(satchelVersion())
    .showHelpAfterError('(satchel --help lists the commands and their options)')
    .exitOverride()
  const answer = (command: Command, action: (...values: never[]) => Promise<CommandResult>): void => {
    command.option('--json', 'print one JSON object on stdout; progress and logs go to stderr')
    command.action(async (...values: unknown[]) => {
      const json = command.opts<{ json?: boolean }>().json === true
      asJson(json)
      printResult(await action(...(values as never[])), json)
    })
  }
  addTrainingCommands(program, answer)
  addControlCommand(program, answer)
  addInferenceCommands(program, answer)
  addScoreCommands(program, answer)
  addJudgeCommand(program, answer)
  addProblemCommands(program, answer)
  addAdvantageCommand(program, answer)
  addModelCommands(program, answer)
  addExportCommand(program, answer)
  const doctorCommand = program.command('doctor').description('what devices, libraries and limits this machine has, each tried').option('--reward <preset or file>', 'a reward whose judges are tried as well')
  answer(doctorCommand, (options: { reward?: string }) => doctor(options))
  answer(program.command('probe', { hidden: true }).argument('<device>'), probe)
  return program
}

async function main(): Promise<void> {
  // An option error comes before the command has run: whether JSON was wanted is read from the line itself.
  let json = process.argv.includes('--json')
  try {
    await createProgram((wanted) => (json = wanted)).parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) return printFailure(error, json)
    if (error.exitCode === 0) return
    // Commander has told a person already.
    if (json) process.stdout.write(`${JSON.stringify({ error: new UserError({ code: 'usage', what: error.message.replace(/^error: /, ''), remedy: 'See satchel --help.' }).envelope })}\n`)
    process.exitCode = 2
  }
}

// Whoever reads our output may leave early (`satchel report | head`); that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})
await main()
// onnxruntime and reward workers may keep handles; everything that matters is on disk and printed.
process.stdout.write('', () => process.exit())
