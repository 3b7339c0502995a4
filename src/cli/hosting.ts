import type { Logger } from "pino";
import { FlowFabricError } from "../contract/errors.ts";
import type { LocalBackend } from "../engine/local-backend.ts";
import { openBackend } from "../library/open.ts";
import { startServer } from "../server/server.ts";
import type { SERVER_SETTINGS } from "./settings/server-settings.ts";
import type { Values } from "./settings/setting.ts";
import { withoutPassword } from "./settings/values.ts";

export type ServerSettings = Values<typeof SERVER_SETTINGS>;

/** An engine and its server in this process. */
export interface Hosted {
	address: string;
	backend: LocalBackend;
	close(): Promise<void>;
}

/** Opens the store, then listens; what was opened is closed again when the rest does not work out. */
export async function host(settings: ServerSettings, log: Logger): Promise<Hosted> {
	const { store, partitions, retentionMs, listen, apiToken, tokens, corsOrigins, openMetrics } = settings;
	const backend = await openBackend(store, {
		retentionMs,
		...(partitions === undefined ? undefined : { partitions }),
		onFault: ({ about, error }) => log.warn({ err: error }, about),
	}).catch((error: unknown) => {
		throw explainStore(error);
	});
	try {
		const server = await startServer({
			engine: backend.engine,
			backendFor: (caller) => backend.for(caller),
			host: listen.host,
			port: listen.port,
			...(apiToken === undefined ? undefined : { adminToken: apiToken }),
			...(tokens === undefined ? undefined : { tokens }),
			...(corsOrigins === undefined ? undefined : { corsOrigins }),
			openMetrics,
			log,
			storeName: withoutPassword(store),
		});
		return {
			address: server.address,
			backend,
			async close() {
				await server.close();
				await backend.close();
			},
		};
	} catch (error) {
		await backend.close();
		throw explainListen(error, settings);
	}
}

function explainStore(error: unknown): unknown {
	if (!(error instanceof FlowFabricError) || error.code !== "store_in_use") return error;
	const hint = "Is a server running on it already? Talk to that one, stop it, or name another store with --store";
	return new FlowFabricError("store_in_use", { message: `${error.message}. ${hint}`, details: error.details, cause: error });
}

function explainListen(error: unknown, { listen: { host, port } }: ServerSettings): unknown {
	const { code } = error as NodeJS.ErrnoException;
	const where = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
	switch (code) {
		case "EADDRINUSE":
			return new Error(`${where} is taken by another program; choose another address with --listen (FF_LISTEN_ADDR)`);
		case "EACCES":
			return new Error(`${where} may not be listened on by this user; choose another port with --listen (FF_LISTEN_ADDR)`);
		case "EADDRNOTAVAIL":
		case "ENOTFOUND":
			return new Error(`${where} is no address of this machine; choose another with --listen (FF_LISTEN_ADDR)`);
		default:
			return error;
	}
}
