import { admit, answer, type Caller, hashOf, KEY_SQL, listen, open } from './contract.ts'
import { COLUMNS } from './list-columns.ts'

/** The floor of `GET /api/v1/commissions`: the whole contract with bare node:http and statements prepared by hand. */
const database = open()
const findKey = database.prepare<[string], Caller>(`${KEY_SQL} +?`)
const count = database.prepare<[string], { total: number }>(
  `select sum(rows) total from "rowCounts" where "shopId" = +? and list = 'commissions' and scope = ''`,
)
const list = database.prepare(
  `select ${COLUMNS} from commissions where "shopId" = +? order by "happenedAt" desc, id desc limit +? offset +?`,
)

listen((request, response) => {
  const caller = findKey.get(hashOf(request))
  if (!admit(response, caller, 'commissions:read')) return
  const query = new URL(request.url ?? '', 'http://localhost').searchParams
  const page = Number(query.get('page') ?? 1)
  const limit = Number(query.get('limit') ?? 20)
  const total = count.get(caller.shopId)?.total ?? 0
  const data = list.all(caller.shopId, limit, (page - 1) * limit)
  answer(response, 200, { data, pagination: { page, limit, total, totalPages: Math.ceil(total / limit) } })
})
