import type { Logger } from "pino";
import { FlowFabricError } from "../contract/errors.ts";
import type { LocalBackend } from "../engine/local-backend.ts";
import { type OpenOptions, openBackend } from "../library/open.ts";
import { startServer } from "../server/server.ts";
import { logFault } from "./log.ts";
import { SERVER_SETTINGS } from "./settings/server-settings.ts";
import { type Setting, SettingError, type Values } from "./settings/setting.ts";
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
	const { store, partitions, retentionMs, sweepMs, waitpointGraceMs, waitpointSecretHex, publicUrl } = settings;
	const { listen, apiToken, tokens, corsOrigins, openMetrics, maxConcurrentStreamOps } = settings;
	const backend = await openBackend(store, {
		retentionMs,
		sweepMs,
		waitpointGraceMs,
		...(waitpointSecretHex === undefined ? undefined : { waitpointSecretHex }),
		...(publicUrl === undefined ? undefined : { publicUrl }),
		...scannersOf(settings),
		...(partitions === undefined ? undefined : { partitions }),
		onFault: (fault) => logFault(log, fault),
	}).catch((error: unknown) => {
		throw explainStore(error);
	});
	try {
		const server = await startServer({
			engine: backend.engine,
			backendFor: (caller) => backend.as(caller),
			host: listen.host,
			port: listen.port,
			...(apiToken === undefined ? undefined : { adminToken: apiToken }),
			...(tokens === undefined ? undefined : { tokens }),
			...(corsOrigins === undefined ? undefined : { corsOrigins }),
			openMetrics,
			pools: { stream_ops: maxConcurrentStreamOps },
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
		throw explainStart(error);
	}
}

function scannersOf({
	scannerNamespaces: namespaces,
	scannerTags: tags,
}: ServerSettings): Pick<OpenOptions, "scanners"> {
	if (!namespaces && !tags) return {};
	return { scanners: { ...(namespaces ? { namespaces } : undefined), ...(tags ? { tags } : undefined) } };
}

function explainStore(error: unknown): unknown {
	if (!(error instanceof FlowFabricError) || error.code !== "store_in_use") return error;
	const hint = "Is a server running on it already? Talk to that one, stop it, or name another store with --store";
	return new FlowFabricError("store_in_use", {
		message: `${error.message}. ${hint}`,
		details: error.details,
		cause: error,
	});
}

/** The server knows its options by other names than the person who set them. */
const SETTING_OF: Record<string, keyof typeof SERVER_SETTINGS> = {
	host: "listen",
	port: "listen",
	adminToken: "apiToken",
	tokens: "tokens",
	corsOrigins: "corsOrigins",
};

function explainStart(error: unknown): unknown {
	if (!(error instanceof FlowFabricError) || error.code !== "invalid_input") return error;
	const field = /^[A-Za-z]+/.exec(String(error.details["field"]))?.[0] ?? "";
	const name = SETTING_OF[field];
	if (name === undefined) return error;
	const { env, flag }: Setting<unknown> = SERVER_SETTINGS[name];
	const named = flag === undefined ? env : `${env} (${flag.split(" ")[0]})`;
	return new SettingError(named, error.message.replace(/^[^:]+: /, ""));
}
