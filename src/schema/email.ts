/** Returns true for addresses that HTML forms accept, up to 254 characters (RFC 5321, 4.5.3.1). */
export function isEmail(text: string): boolean {
  return text.length <= 254 && address.test(text);
}

/** The regular expression of the HTML standard, with at most 64 characters before the `@`. */
const address =
  /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/i;
