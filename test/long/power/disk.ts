import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Step } from './trace.ts'

/** Which unsynced writes remain on the disk after a power loss. */
export const FATES = ['drop all', 'keep all', 'random', 'prefix'] as const
export type Fate = (typeof FATES)[number]

type Change = Extract<Step, { kind: 'write' | 'truncate' }>

interface File {
  /** The changes that certainly survive. */
  durable: Buffer
  /** Its folder was synced after it was created. */
  isNamed: boolean
  unsynced: Change[]
}

const SECTOR = 512

/** Files on a disk that is only guaranteed to keep what was synced. */
export class Disk {
  readonly #files = new Map<string, File>()

  /** Starts from an existing file, or from none. */
  constructor(paths: string[]) {
    for (const path of paths) this.#files.set(path, { durable: readFileSync(path), isNamed: true, unsynced: [] })
  }

  apply(step: Step): void {
    if (step.kind === 'acknowledge') return
    const file = this.#files.get(step.path)
    if (step.kind === 'create') {
      if (!file) this.#files.set(step.path, { durable: Buffer.alloc(0), isNamed: false, unsynced: [] })
    } else if (step.kind === 'unlink') this.#files.delete(step.path)
    else if (step.kind === 'write' || step.kind === 'truncate') file?.unsynced.push(step)
    else if (file) {
      file.durable = patched(file.durable, file.unsynced)
      file.unsynced = []
    } else {
      for (const [path, one] of this.#files) if (dirname(path) === step.path) one.isNamed = true
    }
  }

  /** The files after a power loss at this moment. */
  cut(fate: Fate): Map<string, Buffer> {
    const image = new Map<string, Buffer>()
    for (const [path, { durable, isNamed, unsynced }] of this.#files) {
      if (!isNamed && (fate === 'drop all' || (fate === 'random' && Math.random() < 0.5))) continue
      image.set(path, patched(durable, survivors(unsynced, fate)))
    }
    return image
  }
}

function survivors(unsynced: Change[], fate: Fate): Change[] {
  if (fate === 'drop all') return []
  if (fate === 'keep all') return unsynced
  if (fate === 'prefix') return unsynced.slice(0, Math.floor(Math.random() * (unsynced.length + 1)))
  return unsynced.filter(() => Math.random() < 0.5).map((one) => (Math.random() < 0.2 ? torn(one) : one))
}

/** Only its first sectors were written. */
function torn(change: Change): Change {
  if (change.kind !== 'write') return change
  const sectors = Math.floor(Math.random() * Math.ceil(change.data.length / SECTOR))
  return { ...change, data: change.data.subarray(0, sectors * SECTOR) }
}

/** The content after the changes, in their order. */
function patched(content: Buffer, changes: Change[]): Buffer {
  let size = content.length
  const ends = changes.map((one) => (one.kind === 'write' ? one.at + one.data.length : one.size))
  const result = Buffer.alloc(Math.max(size, ...ends))
  content.copy(result)
  for (const change of changes) {
    if (change.kind === 'truncate') {
      result.fill(0, change.size)
      size = change.size
    } else {
      change.data.copy(result, change.at)
      size = Math.max(size, change.at + change.data.length)
    }
  }
  return result.subarray(0, size)
}
