import { document } from './document.ts'

// The pattern `^(AED|AFN|…)$`.
const CURRENCIES = new Set(document.components.schemas.Currency!.pattern!.slice(2, -2).split('|'))

/** Whether a text is an ISO 4217 currency. */
export const isCurrency = (text: string): boolean => CURRENCIES.has(text)
