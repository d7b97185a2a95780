import { z } from "zod";
import { type DefinedTool, defineTool } from "../../src/tools/index.js";

/** A mail that a test may look at. */
export interface SentMail {
  readonly to: string;
  readonly subject: string;
  /** The key that came along. */
  readonly key: string;
}

const mail = z.object({
  to: z.string().trim().toLowerCase(),
  subject: z.string(),
  urgent: z.boolean().default(false),
});

/** A mailbox whose mails are the effects of its tool. */
export class Mailbox {
  readonly sent: SentMail[] = [];
  /** Awaited after the mail is sent, and before its tool ends. */
  afterwards: () => Promise<void> = async () => {};

  readonly tool: DefinedTool<typeof mail, Promise<{ readonly message: number }>> = defineTool({
    name: "send_email",
    description: "Sends a mail.",
    args: mail,
    effect: "irreversible",
    execute: async ({ to, subject }, call) => {
      const message = this.sent.push({ to, subject, key: call.key });
      await this.afterwards();
      return { message };
    },
  });
}

/** Something that is waited for until the test opens it. */
export class Gate {
  readonly opened: Promise<void>;
  open: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}
