/** What an item of the list shows, in the order of the document. */
export const COLUMNS = `
  id, "affiliateId", "programId", "externalOrderId", "orderId", "orderName", currency, "orderCurrency", "commissionType",
  "commissionBaseCents", "remainingBaseCents", "commissionRateBps", "commissionAmountCents", "taxWithheldCents",
  "orderSubtotalCents",
  "orderDiscountCents", "orderShippingCents", "orderTaxCents", "trackingMethod", "attributionMethod",
  "attributionReasonCode", "restrictionReasonCode", "orderStatus", "payoutBatchId",
  "termsVersion", "termsRule", "availableAt", "happenedAt", "paidAt", "createdAt", "updatedAt"`
