import { pageHeaders } from '../http/page-headers.ts'

/** Headers of every page of the Developer page. */
export const PAGE_HEADERS = {
  ...pageHeaders({ style: "'self'", script: "'self'", image: "'self'", form: "'self'" }),
  'Cache-Control': 'no-store',
}
