import { StoreOpenError } from "../port.ts";

/** What a URL of this kind may look like, for people. */
export const VALKEY_URL_FORM =
	"valkey://[user:password@]host[:port][/database][?cluster=true] (valkeys:// with TLS; redis:// and rediss:// mean the same)";

const DEFAULT_PORT = 6379;
const DEFAULT_PREFIX = "ff";
const FORM = /^(valkeys?|rediss?):\/\/(?:([^?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
/** Only what names and addresses are made of: anything else may belong to a password, which must not become a question to a name server. */
const HOST = /^(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/;
const PARAMETERS = ["cluster", "prefix", "ca", "cert", "key"];

export interface HostAndPort {
	host: string;
	port: number;
}

/** Files with certificates in PEM form; the system's authorities count when no `ca` is given. */
export interface TlsFiles {
	ca?: string;
	cert?: string;
	key?: string;
}

export interface ValkeyUrl {
	/** Where to begin; more than one only in a cluster, whose other nodes are found from there. */
	hosts: [HostAndPort, ...HostAndPort[]];
	tls?: TlsFiles;
	username?: string;
	password?: string;
	database: number;
	cluster: boolean;
	/** In front of every key, so that several stores can share a server. */
	prefix: string;
	/** The URL without user and password, for messages. */
	shown: string;
}

/**
 * Reads a URL of this kind; refuses it naming the part that is wrong. Of a URL that is refused nothing is shown but its
 * scheme: whatever is wrong with it, any part of it may be a password.
 */
export function parseValkeyUrl(url: string): ValkeyUrl {
	const scheme = url.slice(0, url.indexOf(":"));
	const refuse = (problem: string) => new StoreOpenError("store_invalid", `store URL ${scheme}://…: ${problem}`);
	const parts = FORM.exec(url);
	if (!parts) throw refuse(`must be ${VALKEY_URL_FORM}`);
	const [, , user, authority = "", database = "", query = ""] = parts;
	if (query.includes("@")) throw refuse("@, ? and # in a user, password or file must be written as %40, %3F, %23");
	const hosts = authority.split(",").map((text) => hostOf(refuse, text)) as ValkeyUrl["hosts"];
	const parameters = parametersOf(refuse, query);
	const cluster = truth(refuse, "cluster", parameters.get("cluster"));
	if (hosts.length > 1 && !cluster) throw refuse("several hosts are allowed with ?cluster=true only");
	const tls = tlsOf(refuse, scheme, parameters);
	return {
		hosts,
		...(tls ? { tls } : undefined),
		...credentialsOf(refuse, user),
		database: databaseOf(refuse, database, cluster),
		cluster,
		prefix: prefixOf(refuse, parameters.get("prefix")),
		shown: `${scheme}://${authority}${database === "" ? "" : `/${database}`}`,
	};
}

type Refuse = (problem: string) => StoreOpenError;

function hostOf(refuse: Refuse, text: string): HostAndPort {
	const [, host, port] = HOST.exec(text) ?? [];
	if (host === undefined) throw refuse("host: must be a name or address, as in valkey://localhost:6379");
	const number = port === undefined ? DEFAULT_PORT : Number(port);
	if (number < 1 || number > 65_535) throw refuse("port: must be 1 to 65535");
	return { host: host.replace(/^\[|\]$/g, ""), port: number };
}

function credentialsOf(refuse: Refuse, user: string | undefined): { username?: string; password?: string } {
	if (user === undefined) return {};
	const colon = user.indexOf(":");
	try {
		const username = decodeURIComponent(colon < 0 ? user : user.slice(0, colon));
		const password = colon < 0 ? "" : decodeURIComponent(user.slice(colon + 1));
		return { ...(username === "" ? undefined : { username }), ...(password === "" ? undefined : { password }) };
	} catch {
		throw refuse("user and password: a % must be written as %25 (and @ / ? # as %40 %2F %3F %23)");
	}
}

function databaseOf(refuse: Refuse, text: string, cluster: boolean): number {
	if (!/^(?:0|[1-9]\d{0,4})?$/.test(text)) throw refuse("database: must be a number, as in valkey://host/1");
	const database = Number(text);
	if (cluster && database > 0) throw refuse("database: a cluster has only 0; leave it out");
	return database;
}

function parametersOf(refuse: Refuse, query: string): Map<string, string> {
	const parameters = new Map<string, string>();
	for (const [name, value] of new URLSearchParams(query)) {
		if (!PARAMETERS.includes(name)) {
			throw refuse(`parameter ${parameters.size + 1}: unknown; allowed are ${PARAMETERS.join(", ")}`);
		}
		if (parameters.has(name)) throw refuse(`${name}: is given twice`);
		parameters.set(name, value);
	}
	return parameters;
}

function truth(refuse: Refuse, name: string, value: string | undefined): boolean {
	if (value === undefined || value === "false") return false;
	if (value === "true") return true;
	throw refuse(`${name}: must be true or false`);
}

function prefixOf(refuse: Refuse, value: string | undefined): string {
	if (value === undefined) return DEFAULT_PREFIX;
	if (/^[A-Za-z0-9._:-]{1,64}$/.test(value)) return value;
	throw refuse("prefix: must be 1 to 64 of A-Z a-z 0-9 . _ : -");
}

function tlsOf(refuse: Refuse, scheme: string, parameters: ReadonlyMap<string, string>): TlsFiles | undefined {
	const files: TlsFiles = {};
	for (const name of ["ca", "cert", "key"] as const) {
		const path = parameters.get(name);
		if (path === undefined) continue;
		// Behind a ; stands what was meant as another parameter, and the name of a file that is not there is shown.
		if (!/^[^;=]+$/.test(path)) throw refuse(`${name}: must name a file, without ; and =`);
		files[name] = path;
	}
	if (scheme === "valkeys" || scheme === "rediss") return files;
	if (Object.keys(files).length === 0) return undefined;
	throw refuse(`${Object.keys(files)[0]}: is for TLS; write ${scheme}s:// instead of ${scheme}://`);
}
