import { listen, open } from './contract.ts'

/** The floor of a start: Node, better-sqlite3 with the migrated database open, and one response. */
const find = open().prepare('select count(*) shops from shops')
listen((_, response) => response.end(JSON.stringify(find.get())))
