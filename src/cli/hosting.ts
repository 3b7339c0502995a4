import type { Logger } from "pino";
import { FlowFabricError } from "../contract/errors.ts";
import type { LocalBackend } from "../engine/local-backend.ts";
import { startServer } from "../hosting/start-server.ts";
import type { OpenOptions } from "../library/open.ts";
import { logFault } from "./log.ts";
import { SERVER_SETTINGS } from "./settings/server-settings.ts";
import { type Setting, SettingError, type Values } from "./settings/setting.ts";

export type ServerSettings = Values<typeof SERVER_SETTINGS>;

/** An engine and its server in this process. */
export interface Hosted {
	address: string;
	backend: LocalBackend;
	close(): Promise<void>;
}

/** What `startServer` does, told by settings and told of in their words. */
export async function host(settings: ServerSettings, log: Logger): Promise<Hosted> {
	const { store, partitions, retentionMs, sweepMs, waitpointGraceMs, waitpointSecretHex, publicUrl } = settings;
	const { listen, apiToken, tokens, corsOrigins, openMetrics, maxConcurrentStreamOps } = settings;
	const { requestsPerSecond, requestBurst } = settings;
	const unheard = (reason: unknown) => log.error({ err: reason }, "a failure that nobody handles; the server goes on");
	try {
		const { url, ff, close } = await startServer({
			store,
			listen,
			retentionMs,
			sweepMs,
			waitpointGraceMs,
			...(waitpointSecretHex === undefined ? undefined : { waitpointSecretHex }),
			...(publicUrl === undefined ? undefined : { publicUrl }),
			...scannersOf(settings),
			...(partitions === undefined ? undefined : { partitions }),
			...(apiToken === undefined ? undefined : { token: apiToken }),
			...(tokens === undefined ? undefined : { tokens }),
			...(corsOrigins === undefined ? undefined : { corsOrigins }),
			...(requestsPerSecond === undefined ? undefined : { requestsPerSecond }),
			...(requestBurst === undefined ? undefined : { requestBurst }),
			openMetrics,
			pools: { stream_ops: maxConcurrentStreamOps },
			log,
			onFault: (fault) => logFault(log, fault),
		});
		// A fault of ours in one request must not end the others: all that is promised stands in the store.
		process.on("unhandledRejection", unheard);
		return {
			address: url,
			backend: ff.backend as LocalBackend,
			close: () => close().finally(() => process.off("unhandledRejection", unheard)),
		};
	} catch (error) {
		throw explainStart(explainStore(error));
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
	listen: "listen",
	token: "apiToken",
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
