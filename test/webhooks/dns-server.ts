import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'

const A = 1
const AAAA = 28

/** A DNS server on loopback. `answers` is called for each query; undefined means that the name does not exist. */
export async function startDnsServer(
  answers: (name: string, type: 'A' | 'AAAA', count: number) => string[] | undefined,
) {
  const asked = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query)
    const kind = type === AAAA ? 'AAAA' : 'A'
    const count = (asked.get(`${kind} ${name}`) ?? 0) + 1
    asked.set(`${kind} ${name}`, count)
    const found = answers(name, kind, count)
    socket.send(reply(query, end, found?.map(toRecord)), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    /** The number of queries, by query such as `A www.example.com`. */
    asked,
    stop: () => socket.close(),
  }
}

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function reply(query: Buffer, end: number, records: Buffer[] | undefined): Buffer {
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(records ? 0x8580 : 0x8583, 2)
  header.writeUInt16BE(records?.length ?? 0, 6)
  header.writeUInt32BE(0, 8)
  return Buffer.concat([header, query.subarray(12, end), ...(records ?? [])])
}

function toRecord(address: string): Buffer {
  const data = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : sixBytes(address)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(isIPv4(address) ? A : AAAA, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function sixBytes(address: string): Buffer {
  const [left = '', right = ''] = address.split('::')
  const parts = (text: string) => text.split(':').filter(Boolean)
  const zeros = Array(8 - parts(left).length - parts(right).length).fill('0')
  const groups = address.includes('::') ? [...parts(left), ...zeros, ...parts(right)] : parts(address)
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
