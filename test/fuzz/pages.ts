import fc from 'fast-check'
import { snapshot } from '../contract/fixture.ts'
import { signIn } from '../support/owner.ts'
import { hostileText } from './hostile.ts'
import type { Foreign } from './tenants.ts'
import type { FuzzWorld } from './world.ts'

/** Markup that no page may repeat unescaped, because it would run. */
const MARKUP = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`

/** No document describes the dashboard, so its addresses and form fields are listed here. */
export interface Pages {
  routes: { method: string; path: string }[]
  fields: string[]
}

interface Session {
  cookie: string
  csrf: string
}

export async function sessionOf({ server }: FuzzWorld, token: string): Promise<Session> {
  const { cookie, headers } = await signIn(server, token)
  return { cookie, csrf: headers['X-CSRF-Token'] }
}

export async function readPages(world: FuzzWorld, session: Session): Promise<Pages> {
  const all = world.server.routes.filter(
    ({ path, method }) =>
      /^\/admin(\/|$)/.test(path) && !/\/admin\/v1|\*|\./.test(path) && ['GET', 'POST'].includes(method),
  )
  const routes = [...new Map(all.map(({ method, path }) => [`${method} ${path}`, { method, path }])).values()]
  const fields = new Set<string>()
  for (const { path } of routes.filter(({ method }) => method === 'GET')) {
    let shown = 0
    for (const id of path.includes(':') ? world.ids : ['']) {
      const { status, text } = await visit(world, session, { method: 'GET', path: withId(path, id), fields: [] })
      for (const [, name = ''] of text.matchAll(/ name="?([\w[\].-]+)/g)) fields.add(name)
      if (status === 200 && ++shown === 3) break
    }
  }
  // Signing out would end the session of the remaining visits.
  return {
    routes: routes.filter(({ path }) => !path.endsWith('/sign-out')),
    fields: [...fields].filter((name) => name !== 'csrf'),
  }
}

const withId = (path: string, id: string) => path.replace(/:\w+/g, encodeURIComponent(id || 'x'))

interface Visit {
  method: string
  path: string
  fields: [string, string][]
}

async function visit({ server }: FuzzWorld, { cookie, csrf }: Session, { method, path, fields }: Visit) {
  const sent = new URLSearchParams(fields)
  const isForm = method === 'POST'
  if (isForm) sent.set('csrf', csrf)
  const response = await server.app.fetch(
    new Request(`http://test${path}${isForm ? '' : `?${sent}`}`, {
      method,
      headers: { Cookie: cookie, ...(isForm && { 'Content-Type': 'application/x-www-form-urlencoded' }) },
      body: isForm ? sent.toString() : undefined,
    }),
  )
  return { status: response.status, text: `${await response.text()} ${response.headers.get('Location') ?? ''}` }
}

const visitsOf = (pages: Pages, ids: string[]): fc.Arbitrary<Visit> => {
  const value = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...ids) },
    { weight: 2, arbitrary: fc.constant(MARKUP) },
    { weight: 3, arbitrary: hostileText.map((text) => text.toWellFormed().slice(0, 2000)) },
    { weight: 2, arbitrary: fc.constantFrom('1', '10', '2026-10-01', 'APPROVED', 'approve', 'all', 'affiliates:read') },
  )
  return fc.record({
    method: fc.constant(''),
    path: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...ids) },
      { weight: 1, arbitrary: fc.constantFrom(MARKUP, '%', '..', '\0') },
    ),
    fields: fc.array(fc.tuple(fc.constantFrom(...pages.fields), value), { maxLength: 8 }),
  })
}

/** Visits each page and form this many times. @throws with the visit that failed, ran a script, or disclosed `foreign`. */
export async function fuzzPages(
  world: FuzzWorld,
  { pages, session, foreign }: { pages: Pages; session: Session; foreign?: Foreign },
  { numRuns, seed }: { numRuns: number; seed: number },
): Promise<number> {
  let sent = ''
  for (const route of pages.routes) {
    const property = fc.asyncProperty(visitsOf(pages, world.ids), async (made) => {
      const call = { ...made, method: route.method, path: withId(route.path, made.path) }
      sent += JSON.stringify([made, decodeURIComponent(call.path)])
      const before = foreign ? '' : snapshot(world.server, ['audits'])
      const { status, text } = await visit(world, session, call)
      const what = `${route.method} ${route.path} answered ${status}`
      if (status >= 500) throw new Error(`${what}: ${world.server.logs.findLast((line) => line.includes('"bug"'))}`)
      if (/<script>alert|<img src=x/.test(text)) throw new Error(`${what} and repeated markup`)
      // Audit records of accesses are excluded: a rejected form shows its page again.
      if (!foreign && status >= 400 && snapshot(world.server, ['audits']) !== before)
        throw new Error(`${what} and changed something`)
      const found = foreign?.texts.filter((one) => text.includes(one) && !sent.includes(one)) ?? []
      if (found.length > 0) throw new Error(`${what} and told ${found.join(', ')}`)
    })
    await fc.assert(property, { numRuns, seed, endOnFailure: true })
  }
  return pages.routes.length * numRuns
}
