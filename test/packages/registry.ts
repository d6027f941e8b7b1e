import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

interface Packument {
  versions: Record<string, { dist: { tarball: string } }>
  _attachments?: Record<string, { data: string }>
}

/** A registry of npm packages, in memory. */
export interface Registry {
  url: string
  close: () => void
}

/** Starts a registry that accepts `npm publish` and serves what was published. It knows no other packages. */
export async function startRegistry(): Promise<Registry> {
  const packuments = new Map<string, Packument>()
  const tarballs = new Map<string, Buffer>()
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '', 'http://registry').pathname)
    if (request.method === 'PUT') {
      const { _attachments, ...packument }: Packument = JSON.parse(await text(request))
      packuments.set(path, packument)
      for (const { dist } of Object.values(packument.versions)) {
        const { pathname } = new URL(dist.tarball)
        const [attachment] = Object.values(_attachments ?? {})
        tarballs.set(pathname, Buffer.from(attachment?.data ?? '', 'base64'))
        dist.tarball = `http://${request.headers.host}${pathname}`
      }
      return response.writeHead(201).end('{}')
    }
    const found = tarballs.get(path) ?? (packuments.has(path) && JSON.stringify(packuments.get(path)))
    response.writeHead(found ? 200 : 404).end(found || '{}')
  })
  server.listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() }
}
