/**
 * Loaded into every measured server: reports the used CPU time and memory, and a profile, to its parent.
 * JavaScript, because Node's TypeScript compiler would add to both, as would the inspector.
 */
let session

const answers = {
  usage: () => {
    const { user, system } = process.cpuUsage()
    return { cpuMicros: user + system, rssBytes: process.memoryUsage.rss() }
  },
  startProfile: async () => {
    const { Session } = await import('node:inspector/promises')
    session = new Session()
    session.connect()
    await session.post('Profiler.enable')
    await session.post('Profiler.start')
    return {}
  },
  stopProfile: async () => (await session.post('Profiler.stop')).profile,
}

process.on('message', async (question) => {
  process.send?.(await answers[question]?.())
})
// Does not keep the server alive.
process.channel?.unref()
