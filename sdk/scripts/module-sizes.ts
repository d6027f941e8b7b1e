// Prints what each module adds to the size of everything: the gzipped bundle, less the gzipped bundle without its text.
import { build } from 'esbuild'
import { gzipped } from './bundle.ts'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Decodes one segment of a source map: signed numbers in base 64, with five bits per digit. */
const decode = (segment: string): number[] => {
  const numbers: number[] = []
  let [value, shift] = [0, 0]
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit)
    value += (bits & 31) << shift
    shift += 5
    if (bits & 32) continue
    numbers.push(value & 1 ? -(value >> 1) : value >> 1)
    value = shift = 0
  }
  return numbers
}

const source = process.argv[2] ?? `export * from '../src/index.ts'`
const { outputFiles } = await build({
  stdin: { contents: source, resolveDir: import.meta.dirname, loader: 'ts' },
  bundle: true,
  minify: true,
  write: false,
  platform: 'browser',
  target: 'esnext',
  format: 'esm',
  sourcemap: 'external',
  outdir: 'out',
})
const map = JSON.parse(outputFiles.find(({ path }) => path.endsWith('.map'))!.text)
const text = outputFiles.find(({ path }) => path.endsWith('.js'))!.text
const lines = text.split('\n')

/** The module of each character. */
const owners: string[][] = lines.map((line) => Array(line.length).fill(''))
let file = 0
for (const [row, segments] of (map.mappings as string).split(';').entries()) {
  let column = 0
  for (const segment of segments.split(',').filter(Boolean)) {
    const [columns = 0, files] = decode(segment)
    column += columns
    if (files !== undefined) file += files
    owners[row]?.fill(files === undefined ? '' : map.sources[file], column)
  }
}
const total = gzipped(text)
const rows = [...new Set(owners.flat())].filter(Boolean).map((name) => {
  const rest = lines.map((line, row) => [...line].filter((_, i) => owners[row]![i] !== name).join('')).join('\n')
  return { name, minified: text.length - rest.length, gzip: total - gzipped(rest) }
})
const print = (gzip: number, minified: number, name: string) =>
  console.log(`${String(gzip).padStart(6)} ${String(minified).padStart(6)}  ${name}`)
for (const { name, minified, gzip } of rows.sort((a, b) => b.gzip - a.gzip))
  print(
    gzip,
    minified,
    name
      .split('node_modules/')
      .at(-1)!
      .replace(/^\.\.\/.*?src\//, ''),
  )
print(total, text.length, 'everything')
