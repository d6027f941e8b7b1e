// Local times and months, computed apart from the server.

const DAY = 86_400_000

const FIELDS = {
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
} as const
/** Creating one takes long. */
const formats = new Map<string, Intl.DateTimeFormat>()

/** The local time of an instant, as if it were UTC. */
export function local(at: number, zone: string): number {
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('en-US', { timeZone: zone, ...FIELDS })
  formats.set(zone, format)
  const parts = format.formatToParts(at)
  const [year, month, day, hour, minute, second] = ['year', 'month', 'day', 'hour', 'minute', 'second'].map((name) =>
    Number(parts.find(({ type }) => type === name)!.value),
  ) as [number, number, number, number, number, number]
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((at % 1000) + 1000) % 1000)
}

/** The first instant with a local time; where clocks skip it, as much later as they skip. */
export function instantOf(wall: number, zone: string): number {
  const offsets = [-DAY, 0, DAY].map((ms) => local(wall + ms, zone) - (wall + ms))
  const found = offsets.map((offset) => wall - offset).filter((at) => local(at, zone) === wall)
  return found.length > 0 ? Math.min(...found) : wall - offsets[0]!
}

/** So many months later at the same local time; a month that lacks the day ends on its last. */
export function addMonths(from: number, months: number, zone: string): number {
  const wall = new Date(local(from, zone))
  const first = Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth() + months, 1)
  const target = new Date(first)
  const last = new Date(Date.UTC(target.getUTCFullYear(), target.getUTCMonth() + 1, 0)).getUTCDate()
  const time = wall.getTime() % DAY
  return instantOf(first + (Math.min(wall.getUTCDate(), last) - 1) * DAY + time, zone)
}

/** Whole months from one instant to another. */
export function monthOf(from: number, at: number, zone: string): number {
  let month = 0
  while (addMonths(from, month + 1, zone) <= at) month++
  return month
}
