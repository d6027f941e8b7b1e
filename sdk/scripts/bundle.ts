import { gzipSync } from 'node:zlib'
import { build, type Format } from 'esbuild'

/**
 * Bundles source code into one file for a browser, minified. Its imports are resolved from the folder, by default this
 * one.
 */
export const bundle = async (
  source: string,
  {
    format = 'esm',
    folder = import.meta.dirname,
    external,
  }: { format?: Format; folder?: string; external?: string[] | undefined } = {},
): Promise<string> => {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: folder, loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    platform: 'browser',
    target: 'esnext',
    format,
    globalName: 'sdk',
    ...(external && { external }),
    legalComments: 'none',
    logLevel: 'error',
  })
  return outputFiles[0]!.text
}

export const gzipped = (text: string) => gzipSync(text, { level: 9 }).length
