import { listen } from './contract.ts'

/** The receiver of deliveries: records when each arrived. Never responds under `/hang`. */
let arrivals: number[] = []
listen((request, response) => {
  if (request.url === '/stats') {
    const sorted = arrivals.toSorted((a, b) => a - b)
    const [first = 0] = sorted
    const p99 = (sorted[Math.floor(sorted.length * 0.99)] ?? 0) - first
    arrivals = []
    return response.end(JSON.stringify({ count: sorted.length, lastMs: (sorted.at(-1) ?? 0) - first, p99 }))
  }
  request.resume()
  if (request.url === '/hang') return
  arrivals.push(performance.now())
  request.on('end', () => response.end())
})
