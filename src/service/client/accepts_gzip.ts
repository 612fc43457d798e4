/** Whether a client takes gzip, by `Accept-Encoding`: a weight of 0 refuses it (RFC 9110, 12.5.3). */
export function acceptsGzip(accepted: string): boolean {
  return accepted.split(",").some((one) =>
    /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(one)
  );
}
