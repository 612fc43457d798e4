/** The headers by which client and service speak about proof of work, in lower case as in replies. */
export const powHeaders = {
  challenge: "service-pow-challenge",
  difficulty: "service-pow-difficulty",
  algorithm: "service-pow-algorithm",
  nonce: "service-pow-nonce",
  challengeType: "service-challenge-type",
} as const;

/** The only algorithm there is. */
export const powAlgorithm = "sha256";

/** The longest nonce that is read. */
export const maxNonceLength = 64;

/** Whether a digest, as words, begins with at least so many zero bits. */
export function hasLeadingZeroBits(digest: Int32Array, bits: number): boolean {
  let left = bits;
  for (let i = 0; left > 0; i++) {
    const word = digest[i];
    if (word === undefined || Math.clz32(word) < Math.min(left, 32)) return false;
    left -= 32;
  }
  return true;
}
