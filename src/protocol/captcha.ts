import { powHeaders } from "./proof_of_work.ts";

/** What a client and the service tell each other about CAPTCHAs. */
export const captchaHeaders = {
  challengeType: powHeaders.challengeType,
  provider: "Service-Captcha-Provider",
  siteKey: "Service-Captcha-Sitekey",
  action: "Service-Captcha-Action",
  /** The one that a client sends, unless the service is configured to read another. */
  token: "Service-Captcha-Token",
} as const;
