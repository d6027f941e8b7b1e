import SQLite from 'better-sqlite3'

/** The control: loaded before the server, it disables the server's durability. */
const { pragma } = SQLite.prototype
SQLite.prototype.pragma = function (this: SQLite.Database, source, options) {
  return pragma.call(this, source.replace('synchronous = FULL', 'synchronous = NORMAL'), options)
}
