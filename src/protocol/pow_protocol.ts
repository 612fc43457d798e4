/** The header names of the proof-of-work protocol, in lower case as in responses. */
export const powHeaders = {
  challenge: "service-pow-challenge",
  difficulty: "service-pow-difficulty",
  algorithm: "service-pow-algorithm",
  nonce: "service-pow-nonce",
  challengeType: "service-challenge-type",
} as const;

/** The only algorithm that the proof-of-work protocol offers. */
export const powAlgorithm = "sha256";

/** The maximum length of a nonce in the proof-of-work protocol. */
export const maxNonceLength = 64;

/** Returns true if a digest, as 32-bit words, begins with at least `bits` zero bits. */
export function hasLeadingZeroBits(digest: Int32Array, bits: number): boolean {
  let left = bits;
  for (let i = 0; left > 0; i++) {
    const word = digest[i];
    if (word === undefined || Math.clz32(word) < Math.min(left, 32)) return false;
    left -= 32;
  }
  return true;
}

/** The letters of base64url, in the order of their values. Nonces consist of them. */
export const base64urlLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
