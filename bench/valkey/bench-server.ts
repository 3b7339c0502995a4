import { Redis } from "iovalkey";
import { startValkey, type ValkeyServer } from "../../test/servers/valkey-server.ts";

/** When the server has what it was told on disk: never, within a second, or before it answers. */
export const SYNC_MODES = ["no", "everysec", "always"] as const;
export type SyncMode = (typeof SYNC_MODES)[number];

/** A private server to measure on, and what it says of itself. */
export class BenchServer {
	readonly url: string;
	readonly version: string;
	readonly admin: Redis;
	readonly #server: ValkeyServer;

	private constructor(server: ValkeyServer, admin: Redis, version: string) {
		this.#server = server;
		this.url = server.url;
		this.admin = admin;
		this.version = version;
	}

	static async start(sync: SyncMode): Promise<BenchServer> {
		const settings = sync === "no" ? [] : ["--appendonly", "yes", "--appendfsync", sync];
		const server = await startValkey(settings);
		const admin = new Redis(server.url);
		const info = await admin.info("server");
		const [, valkey] = /^valkey_version:(\S+)/m.exec(info) ?? [];
		const [, redis] = /^redis_version:(\S+)/m.exec(info) ?? [];
		return new BenchServer(server, admin, valkey ? `valkey ${valkey}` : `redis ${redis}`);
	}

	/** CPU used so far, and memory now. */
	async usage(): Promise<{ micros: number; bytes: number }> {
		const info = await this.admin.info();
		const field = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)?.[1]);
		return { micros: (field("used_cpu_user") + field("used_cpu_sys")) * 1e6, bytes: field("used_memory") };
	}

	/** How many functions were called so far, and how long all of them took. */
	async functionCalls(): Promise<{ calls: number; micros: number }> {
		const info = await this.admin.info("commandstats");
		const [, calls = 0, micros = 0] = /^cmdstat_fcall:calls=(\d+),usec=(\d+)/m.exec(info) ?? [];
		return { calls: Number(calls), micros: Number(micros) };
	}

	async stop(): Promise<void> {
		this.admin.disconnect();
		await this.#server.stop();
	}
}
