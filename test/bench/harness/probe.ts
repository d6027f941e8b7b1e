/** Loaded into every server that is measured: answers its parent how much processor and memory it has used. */
process.on('message', (question) => {
  if (question !== 'usage') return
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuMicros: user + system, rssBytes: process.memoryUsage.rss() })
})
// The server ends when it has nothing to do, not when nobody asks any more.
process.channel?.unref()
