import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from './temporary-folder.ts'

const CHUNK_BYTES = 16 * 1024 * 1024

export interface SmallDisk {
  path: string
  /** Writes until nothing more fits. */
  fill: () => Promise<void>
  free: () => void
  remove: () => void
}

/** A separate file system in memory; undefined where mounting is not permitted. */
export function mountSmallDisk(bytes: number): SmallDisk | undefined {
  const folder = temporaryFolder()
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder.path])
  if (status !== 0) {
    folder.remove()
    return undefined
  }
  const ballast = join(folder.path, 'ballast')
  return {
    path: folder.path,
    fill: () => fillUp(ballast),
    free: () => rmSync(ballast, { force: true }),
    remove: () => {
      spawnSync('umount', ['-l', folder.path])
      folder.remove()
    },
  }
}

async function fillUp(file: string): Promise<void> {
  const chunk = Buffer.alloc(CHUNK_BYTES)
  const handle = await open(file, 'w')
  try {
    for (;;) if ((await handle.write(chunk)).bytesWritten < chunk.length) return
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    await handle.close()
  }
}
