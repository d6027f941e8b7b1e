import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs'

const CHUNK_BYTES = 1024 * 1024

/** Makes an empty file that only its owner can read. SQLite keeps its mode, and gives it to the files beside it. */
export function createPrivateFile(file: string): void {
  closeSync(openPrivateFile(file))
}

/**
 * Copies a file into one that only its owner can read from the first byte on; `copyFile` would give it the mode of the
 * source. Returns the SHA-256 of what was copied.
 */
export function copyPrivately(from: string, to: string): string {
  const hash = createHash('sha256')
  const target = openPrivateFile(to)
  try {
    for (const chunk of chunksOf(from)) {
      hash.update(chunk)
      writeFileSync(target, chunk)
    }
  } finally {
    closeSync(target)
  }
  return hash.digest('hex')
}

export function sha256Of(file: string): string {
  const hash = createHash('sha256')
  for (const chunk of chunksOf(file)) hash.update(chunk)
  return hash.digest('hex')
}

function openPrivateFile(file: string): number {
  rmSync(file, { force: true })
  return openSync(file, 'wx', 0o600)
}

function* chunksOf(file: string): Generator<Buffer> {
  const buffer = Buffer.alloc(CHUNK_BYTES)
  const source = openSync(file, 'r')
  try {
    for (;;) {
      const bytes = readSync(source, buffer)
      if (bytes === 0) return
      yield buffer.subarray(0, bytes)
    }
  } finally {
    closeSync(source)
  }
}
