/** Names as people write them, in many scripts; some need joiners, marks or letters outside the first plane. */
export const REAL_NAMES = [
  "Siobhán O'Brien",
  'Jean-Luc Lefèvre',
  'Björk Guðmundsdóttir',
  'Nguyễn Thị Ánh',
  'Nguye\u0302\u0303n Thi\u0323 A\u0301nh',
  'İbrahim Çelik',
  'Łukasz Żółć',
  'Þórður Æsir',
  'Ольга Ќирова',
  'Γιώργος Παπαδόπουλος',
  'Արամ Խաչատրյան',
  'გიორგი ბერიძე',
  'יוסי כ״ץ',
  'דָּוִד',
  'محمد عبد الله',
  'مُحَمَّد',
  // Persian separates some words by a zero-width non-joiner.
  'مه\u200cلقا نیک\u200cنام',
  'نور الهدى 2',
  'अनुष्का शर्मा',
  // Indic scripts pick a letter's form by joiners.
  'ක්\u200dරිස්ති',
  'শ্র\u200cী',
  'ശ്രീ\u200dജ',
  'தமிழ் செல்வன்',
  'สมชาย ใจดี',
  'မောင်မောင်',
  'ភារុណ',
  '山田 太郎',
  '𠮷野家',
  '王小明',
  '김민준',
  'ᠮᠣᠩᠭᠣᠯ',
  'ጸሐይ',
  'ߞߊ߬ߙߌߓߊ߫',
  'X Æ A-12',
  'Ann "Annie" Lee, Jr.',
  // Copied from a text that runs from right to left.
  'דוד\u200f (David)\u200e',
  'Zoë 👩🏽\u200d🔬',
]

/** Characters that control a terminal or the text direction, and how they are shown. */
export const HOSTILE_NAMES: [name: string, shown: string][] = [
  ['Eve\u202egpj.exe', 'Evegpj.exe'],
  ['\u2067Mal\u2066lory', 'Mallory'],
  ['Tru\u001b[31mdy\u0007', 'Tru[31mdy'],
  ['Os\u009b2Jcar\u0085', 'Os2Jcar'],
  ['Su\u007fsan\u202c\u2069', 'Susan'],
]
