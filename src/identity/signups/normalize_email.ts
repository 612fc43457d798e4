import { domainToASCII, domainToUnicode } from "node:url";

/**
 * Returns an e-mail address in canonical form, or null if it is invalid. As with all large
 * providers, the part before `@` cannot be quoted, and case is ignored. The maximum length is 254
 * characters (RFC 5321, 4.5.3.1). An address must not look like another address. Therefore it has
 * no invisible characters, and no variants of characters before `@` (e.g. full-width). Neither the
 * part before `@` nor a label of the domain mixes similar scripts (UTS 39, 5.2). A domain in
 * punycode is converted to Unicode (IDNA, UTS 46), so that each domain has one form.
 */
export function normalizeEmail(given: string): string | null {
  const text = given.trim().normalize("NFC").toLowerCase();
  const at = text.lastIndexOf("@");
  const local = text.slice(0, Math.max(0, at));
  if (!text.isWellFormed() || !isLocalPart(local)) return null;
  const domain = normalDomain(text.slice(at + 1));
  if (domain === null) return null;
  const email = `${local}@${domain}`;
  return email.length <= 254 ? email : null;
}

/** Normalizes an account's address. Also accepts addresses that earlier, weaker rules allowed. */
export function normalizeStoredEmail(given: string): string | null {
  const email = given.trim().normalize("NFC").toLowerCase();
  const isKnown = email.length <= 254 && email.isWellFormed() &&
    /^[^\s@"<>()[\]\\,;:\p{Cc}]{1,64}@[\p{L}\p{M}\p{N}.-]+$/u.test(email);
  return normalizeEmail(given) ?? (isKnown ? email : null);
}

export function emailSpellings(email: string): readonly string[] {
  const at = email.lastIndexOf("@") + 1;
  const domain = email.slice(at);
  const domains = [domain, domainToASCII(domain), domainToUnicode(domain).normalize("NFC")];
  // `domainToASCII` and `domainToUnicode` return "" for an invalid domain.
  return [...new Set(domains)].filter((one) => one !== "").map((one) => email.slice(0, at) + one);
}

function isLocalPart(local: string): boolean {
  if (
    local.length > 64 || !dotAtom.test(local) || /^\.|\.\.|\.$/.test(local) ||
    local.normalize("NFKC") !== local
  ) return false;
  return !isMixed(local);
}

function isMixed(word: string): boolean {
  const isLatin = /\p{sc=Latin}/u.test(word);
  return isLatin ? foreign.test(word) : similar.filter((script) => script.test(word)).length > 1;
}

/** Matches letters, digits, dots and some other signs (RFC 5322, 3.2.3; RFC 6532). */
const dotAtom = /^(?:(?!\p{DI})[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~.-])+$/u;

/** Letters that a word must not mix with Latin: all except Chinese, Japanese and Korean letters. */
const foreign =
  /(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Bopo}\p{sc=Hang}\p{sc=Latin}\p{sc=Zyyy}\p{sc=Zinh}])\p{L}/u;

/** The scripts whose letters look like Latin letters or like letters of another listed script. */
const similar = [/\p{sc=Cyrl}/u, /\p{sc=Grek}/u, /\p{sc=Copt}/u, /\p{sc=Armn}/u, /\p{sc=Cher}/u];

function normalDomain(given: string): string | null {
  const isPlain = /^[\x21-\x7e]*$/.test(given) && !/(?:^|\.)xn--/.test(given);
  // Rejects invisible characters, which the conversion would silently remove.
  if (/\p{DI}/u.test(given)) return null;
  const domain = isPlain ? given : domainToUnicode(domainToASCII(given)).normalize("NFC");
  return labels.test(domain) && !domain.split(".").some(isMixed) ? domain : null;
}

const labels =
  /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?)*$/u;
