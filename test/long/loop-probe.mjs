// Loaded into a server with --import: writes the longest turn of its event loop to a file, in wall and CPU time.
import { writeFileSync } from 'node:fs'

const file = process.env.LOOP_PROBE
const cpuNow = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
let [wall, cpu] = [performance.now(), cpuNow()]
let longest = { wallMs: 0, cpuMs: 0 }

// A timer is late by at most one turn.
setInterval(() => {
  const [wallAt, cpuAt] = [performance.now(), cpuNow()]
  const turn = { wallMs: wallAt - wall - 1, cpuMs: cpuAt - cpu }
  if (Math.min(turn.wallMs, turn.cpuMs) > Math.min(longest.wallMs, longest.cpuMs)) longest = turn
  wall = wallAt
  cpu = cpuAt
}, 1).unref()

// Asks for the longest turn since the last time.
process.on('SIGUSR2', () => {
  writeFileSync(file, JSON.stringify(longest))
  longest = { wallMs: 0, cpuMs: 0 }
})
