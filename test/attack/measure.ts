import { ownerServer } from '../support/owner.ts'
import { heavyRequests } from './heavy-requests.ts'
import { fillLargeShop, type Size } from './large-shop.ts'
import { type Stall, stallOf } from './stall.ts'

/** The guarantee: no request blocks the others for longer. */
export const MAX_STALL_MS = 50

/** In wall time and in CPU time of this thread: other processes on a busy machine increase only the former. */
export const isTooLong = ({ wallMs, cpuMs }: Stall): boolean => wallMs > MAX_STALL_MS && cpuMs > MAX_STALL_MS

/** The worst stall of each heavy request, sent one at a time, on a shop of this size. */
export async function measureStalls(size: Size, { tries }: { tries: number }): Promise<Stall[]> {
  const server = await ownerServer()
  // Skips DNS.
  Object.assign(server.deps, { resolve: async () => ['8.8.8.8'] })
  try {
    await fillLargeShop(server, size)
    const stalls: Stall[] = []
    for (const request of await heavyRequests(server, size)) {
      stalls.push(await stallOf(server, request, { tries, enough: MAX_STALL_MS }))
    }
    return stalls
  } finally {
    await server.close()
  }
}
