// Speaks the protocol of the render service and shows nothing. What a script says decides what happens: exit, hang, garbage, page-failure;
// anything else is "shown", its own text being the picture.
let pages = 0
process.on('message', (message) => {
  if (message.type === 'start') {
    if (process.env.FAKE_RENDER === 'never-ready') return
    if (process.env.FAKE_RENDER === 'refuses') {
      process.stderr.write('[1:2/3.4:FATAL:zygote.cc(1)] No usable sandbox!\n', () => process.exit(1))
      return
    }
    process.send({ type: 'ready', browser: 'none' })
    return
  }
  pages += 1
  const { id, script } = message
  if (script.includes('exit')) process.exit(3)
  if (script.includes('hang')) return
  if (script.includes('garbage')) {
    process.send({ type: 'rendered', id: 'x' })
    return
  }
  if (script.includes('page-failure')) {
    process.send({ type: 'failed', id, reason: 'the page took too long' })
    return
  }
  const facts = { consoleErrors: [], pageErrors: [], text: `page ${pages} of process ${process.pid}`, elements: 1, distinctPixels: 100, uniform: false, milliseconds: 1 }
  process.send({ type: 'rendered', id, png: Buffer.from(script).toString('base64'), facts })
})
process.on('disconnect', () => process.exit(0))
