export type { Role } from "../server/access.ts";
export { type LogOptions, makeLog, type ServerLog } from "../server/log.ts";
export type { TokenEntry } from "../server/options.ts";
export type { PoolName } from "../server/pools.ts";
export type { ListenAddress } from "./listen-address.ts";
export { type StartedServer, type StartServerOptions, startServer } from "./start-server.ts";
