import { sessionCookie } from '../http/browser.ts'
import { signOut } from '../services/sessions.ts'
import { EVERYONE } from './contract.ts'
import type { Route } from './route.ts'

export const signOutRoutes: Route[] = [
  {
    path: '/sign-out',
    roles: EVERYONE,
    act: async ({ ctx }) => {
      await signOut(ctx)
      return { to: '/admin/sign-in?signed-out=1', cookie: sessionCookie(null, ctx.isHttps) }
    },
  },
]
