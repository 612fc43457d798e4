export const powHeaders = {
  challenge: "service-pow-challenge",
  difficulty: "service-pow-difficulty",
  algorithm: "service-pow-algorithm",
  nonce: "service-pow-nonce",
  challengeType: "service-challenge-type",
} as const;

export const powAlgorithm = "sha256";

export const maxNonceLength = 64;

export function hasLeadingZeroBits(digest: Uint8Array, bits: number): boolean {
  let zeros = 0;
  for (const byte of digest) {
    zeros += Math.clz32(byte) - 24;
    if (byte !== 0) break;
  }
  return zeros >= bits;
}

export const base64urlLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
