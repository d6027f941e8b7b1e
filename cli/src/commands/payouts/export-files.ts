import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { usageError } from '../../errors.ts'
import { writePrivateFile } from '../../private-file.ts'
import type { Run } from '../../run.ts'
import type { exportFormats } from './batch-formats.ts'

export interface ExportOptions {
  format: keyof typeof exportFormats | 'sepa'
  /** Marks lines as sent under this ID. */
  fileId?: string
  fromName?: string
  fromIban?: string
  fromBic?: string
  executionDate?: string
  dir: string
  force?: boolean
  expectTotal?: number
}

interface ExportedFile {
  file: string
  currency: string
  rows: number
  totalCents: number
  sha256: string
  written: boolean
}

export type FileDraft = Omit<ExportedFile, 'written'> & { text: string }

export const printFiles = (run: Run, files: readonly FileDraft[]): void =>
  run.printRows<ExportedFile>(
    files.map(({ text: _, ...file }) => ({ ...file, written: !run.dryRun })),
    ['file', 'currency', 'rows', 'totalCents', 'sha256'],
  )

/** The files contain personal data, so only their owner can read them. */
export function writeFiles(files: readonly FileDraft[], { dir, force }: ExportOptions): void {
  const existing = files.find(({ file }) => existsSync(file) && readFileSync(file, 'utf8') !== findText(files, file))
  if (existing && !force)
    throw usageError(
      `${existing.file} already exists with different content.`,
      'Add --force to overwrite it, or choose another --dir.',
    )
  mkdirSync(dir, { recursive: true })
  for (const { file, text } of files) writePrivateFile(file, text)
  writeChecksums(files, join(dir, 'SHA256SUMS'))
}

const findText = (files: readonly FileDraft[], name: string) => files.find(({ file }) => file === name)?.text

/** Writes checksums in `sha256sum -c` format, and keeps other exports' lines. */
function writeChecksums(files: readonly FileDraft[], sums: string): void {
  const lines = new Map<string, string>()
  const old = existsSync(sums) ? readFileSync(sums, 'utf8').split('\n').filter(Boolean) : []
  for (const line of old) lines.set(line.slice(66), line)
  for (const { file, sha256 } of files) {
    const name = basename(file)
    lines.set(name, `${sha256}  ${name}`)
  }
  writePrivateFile(sums, [...lines.values()].map((line) => `${line}\n`).join(''))
}
