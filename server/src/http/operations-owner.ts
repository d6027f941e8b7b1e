import type { Context } from '../context.ts'
import * as keys from '../services/keys.ts'
import * as sessions from '../services/sessions.ts'
import { sessionCookie } from './browser.ts'
import type { Handlers } from './spec.ts'

/** The owner's side of the API: operation, use case, status. */
export const ownerHandlers = {
  getSession: async (ctx) => ({ status: 200, body: sessions.toSession(ctx, { ...ctx, user: ctx.user! }) }),
  createSession: async (ctx, { body }) => {
    const { secret, ...owner } = await sessions.signIn(ctx, body.token)
    const headers = { 'Set-Cookie': sessionCookie(secret, ctx.isHttps) }
    return { status: 201, body: sessions.toSession(ctx, owner), headers }
  },
  deleteSession: async (ctx) => ({
    status: 200,
    body: await sessions.signOut(ctx),
    headers: { 'Set-Cookie': sessionCookie(null, ctx.isHttps) },
  }),

  listKeys: async (ctx) => ({ status: 200, body: await keys.list(ctx) }),
  createKey: async (ctx, { body }) => ({ status: 201, body: { data: await keys.create(ctx, body) } }),
  rotateKey: async (ctx, { path }) => ({ status: 200, body: { data: await keys.rotate(ctx, path.id) } }),
  revokeKey: async (ctx, { path }) => ({ status: 200, body: await keys.revoke(ctx, path.id) }),
} satisfies Partial<Handlers<Context>>
