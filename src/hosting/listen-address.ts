/** Where a server listens. */
export interface ListenAddress {
	/** A name or an address. */
	host: string;
	/** A port; 0 takes a free one. */
	port: number;
}

/** Ends the sentence "listen: …". */
export const LISTEN_ALLOWED = "must be host:port with a port from 0 to 65535, as in 127.0.0.1:9090 or [::1]:9090";

/** Reads `host:port`; an IPv6 host stands in brackets. Undefined for what is none. */
export function listenAddress(text: string): ListenAddress | undefined {
	const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text);
	const host = match?.[1] ?? match?.[2];
	const port = Number(match?.[3]);
	return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}
