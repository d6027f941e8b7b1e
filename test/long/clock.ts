/** Loaded before a server: each SIGUSR2 sets its clock to the next of these offsets, in hours. */
const HOURS = [1, -1, 24, -24, 24 * 40, -24 * 40, 24 * 366, 0]
const { now } = Date
let turns = 0
Date.now = () => now() + (turns === 0 ? 0 : HOURS[(turns - 1) % HOURS.length]! * 3_600_000)
process.on('SIGUSR2', () => turns++)
