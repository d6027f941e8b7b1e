import { get } from 'node:http'
import { spreadOf } from '../harness/compare.ts'
import { sqliteData } from '../harness/data.ts'
import type { Options } from '../harness/options.ts'
import { print } from '../harness/report.ts'
import { launchOurs } from '../harness/subject.ts'

const PATHS = ['/api/v1/docs', '/docs/redoc.js', '/openapi.yaml', '/admin/sign-in', '/api/v1/commissions?limit=100']

/** P14: bytes of the documentation, the contract, a page and a list, compressed where the server does so. */
export async function p14(_: Options): Promise<void> {
  const { url, keys } = await sqliteData(10_000)
  const ours = await launchOurs({ DATABASE_URL: url })
  const load = async (encoding: string) => {
    const headers = { 'Accept-Encoding': encoding, Authorization: `Bearer ${keys[0]}` }
    const sizes = await Promise.all(PATHS.map((path) => bytesOf(ours.url + path, headers)))
    return sizes.reduce((sum, one) => sum + one, 0)
  }
  const [sent, plain] = [await load('gzip, br'), await load('identity')]
  await ours.stop()
  const kilobytes = (bytes: number) => `${Math.round(bytes / 1000)} kB`
  print({
    goal: 'P14',
    what: 'bytes sent with Accept-Encoding ÷ without',
    wanted: { most: 0.25 },
    result: spreadOf([sent / plain]),
    ours: kilobytes(sent),
    floor: kilobytes(plain),
  })
}

const bytesOf = (url: string, headers: Record<string, string>): Promise<number> =>
  new Promise((done, fail) => {
    const request = get(url, { headers }, async (response) => {
      if (response.statusCode !== 200) fail(new Error(`${url} answered ${response.statusCode}`))
      let bytes = 0
      for await (const chunk of response) bytes += chunk.length
      done(bytes)
    })
    request.once('error', fail)
  })
