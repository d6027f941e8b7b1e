import type { Command } from 'commander'
import { defineCommand } from '../../command.ts'

export function addDoctor(program: Command): void {
  defineCommand<{ orders?: string }>(program, 'doctor', {
    summary: 'diagnose the connection to the service',
    details:
      'Checks the URL, the key, the plan, the scopes, the clock, the rate limit, the webhook receivers, disabled subscriptions, failed deliveries (with an owner token), the totals of the latest payout batches, and approved commissions from before last month that are in no batch. Sends about 20 requests and changes nothing. Exits with 4 when the key or the plan is rejected, 7 when the service does not respond, 8 when another check fails.\n\nWith --orders, compares up to 100,000 order ids instead: a file with one id a line, or a CSV file with a column such as externalOrderId, order_id, id, or name. Prints which were never reported, credited to nobody, canceled, or credited but restricted, and why. Reads all orders, 100 a request, or sends one request for each id, whichever takes fewer, and waits for the rate limit (100 requests a minute on the Professional plan, 1,000 at most). Exits with 8 when an order was never reported.',
    output: 'DoctorReport',
    examples: ['referral doctor', 'referral doctor --orders orders.csv'],
    action: async (run, { options: { orders } }) =>
      orders === undefined
        ? (await import('./doctor.ts')).doctor(run)
        : (await import('./orders.ts')).compareOrders(run, orders),
  }).option('--orders <file>', 'compare the order ids of a file with the reported orders')
}
