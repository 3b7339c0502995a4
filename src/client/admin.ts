import type { AdminCalls } from "../contract/backend.ts";
import type { ScannerView } from "../contract/replies.ts";
import type { Transport } from "./transport.ts";

const READY_MS = 2000;

export class RemoteAdmin implements AdminCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	async scanners(): Promise<{ scanners: ScannerView[] }> {
		return this.#transport.json({ method: "GET", path: "/v1/admin/scanners", repeat: "always" });
	}

	async ready(): Promise<void> {
		await this.#transport.send({ method: "GET", path: "/readyz", repeat: "always", withinMs: READY_MS });
	}

	/** The answer is held in memory whole: what is larger than that is backed up by the server's own process. */
	async *backup(): AsyncGenerator<string> {
		const { body } = await this.#transport.send({ method: "POST", path: "/v1/admin/backup", repeat: "always" });
		for (let from = 0; from < body.length; ) {
			const end = body.indexOf("\n", from);
			const to = end < 0 ? body.length : end;
			yield body.toString("utf8", from, to);
			from = to + 1;
		}
	}
}
