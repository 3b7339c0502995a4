import type { AdminCalls } from "../contract/backend.ts";
import type { BackupRequest, RotateSecretRequest } from "../contract/keys.ts";
import type { RotatedSecret, ScannersReply } from "../contract/replies.ts";
import type { Flow } from "./exchange.ts";
import type { Transport } from "./transport.ts";

/** Lines read ahead of whoever takes them. */
const ENOUGH_AHEAD = 1000;

export class RemoteAdmin implements AdminCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	async scanners(): Promise<ScannersReply> {
		return this.#transport.json({ method: "GET", path: "/v1/admin/scanners", repeat: "always" });
	}

	/** Asked once: whether it is ready now is the question. */
	async ready(): Promise<void> {
		await this.#transport.send({ method: "GET", path: "/readyz", repeat: "never" });
	}

	/** Asked once: whoever rotates hears at once that another does, or that nobody answers. */
	async rotateWaitpointSecret(request: RotateSecretRequest = {}): Promise<RotatedSecret> {
		const path = "/v1/admin/rotate-waitpoint-secret";
		return this.#transport.json({ method: "POST", path, body: JSON.stringify(request), repeat: "never" });
	}

	async *backup(request: BackupRequest = {}): AsyncGenerator<string> {
		const controller = new AbortController();
		const decoder = new TextDecoder();
		const lines: string[] = [];
		let rest = "";
		let flow: Flow | undefined;
		let wake = () => {};
		let end: { error?: unknown } | undefined;
		const finish = (error?: unknown) => {
			end = { error };
			wake();
		};
		this.#transport
			.stream({ method: "POST", path: "/v1/admin/backup", body: JSON.stringify(request) }, controller.signal, {
				opened: (opened) => {
					flow = opened;
				},
				received(chunk) {
					const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
					rest = parts.pop() ?? "";
					for (const line of parts) lines.push(line);
					if (lines.length > ENOUGH_AHEAD) flow?.pause();
					wake();
				},
			})
			.then(() => finish(), finish);
		try {
			for (;;) {
				for (let line = lines.shift(); line !== undefined; line = lines.shift()) yield line;
				if (end) {
					if (end.error !== undefined) throw end.error;
					return;
				}
				const more = new Promise<void>((resolve) => (wake = resolve));
				flow?.resume();
				await more;
			}
		} finally {
			controller.abort();
		}
	}
}
