import { once } from 'node:events'
import { connect } from 'node:net'

export interface RawAnswer {
  status: number
  /** Named in lower case. */
  headers: Record<string, string>
  body: string
}

/** Sends raw bytes to this machine, optionally half-closes, and reads until the server closes the connection. */
export async function sendRaw(port: number, bytes: string | Uint8Array, { ends = false } = {}): Promise<RawAnswer[]> {
  const socket = connect(port, '127.0.0.1')
  socket.setTimeout(1000, () => socket.destroy())
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  // The server may close the connection before the request is complete.
  socket.on('error', () => {})
  const data = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes
  if (ends) socket.end(data)
  else socket.write(data)
  await once(socket, 'close')
  return answersIn(text)
}

/** The responses on a connection, in order. */
export function answersIn(text: string): RawAnswer[] {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return []
  const [first = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = Object.fromEntries(lines.map((line) => [line.split(': ')[0]!.toLowerCase(), line.split(': ')[1]!]))
  const length = Number(headers['content-length'] ?? text.length)
  const body = text.slice(end + 4, end + 4 + length)
  return [{ status: Number(first.split(' ')[1]), headers, body }, ...answersIn(text.slice(end + 4 + length))]
}
