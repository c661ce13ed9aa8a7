import numpy as np
from scipy.optimize import curve_fit
from scipy.stats import t
def f(n,a,b,g): return g*n/(1+a*(n-1)+b*n*(n-1))
sets={
'specsdm91':([1,18,36,72,108,144,216],[64.9,995.9,1652.4,1853.2,1828.9,1775.0,1702.2]),
'exact':([1,2,4,6,8,10],[1,1.8868,3.0769,3.5294,3.5398,3.3557]),
'raytracer':([1,4,8,12,16,20,24,28,32,48,64],[20,78,130,170,190,200,210,230,260,280,310]),
}
for k,(x,y) in sets.items():
    p,c=curve_fit(f,np.array(x,float),np.array(y,float),p0=[.01,1e-4,y[0]],maxfev=100000,xtol=1e-15,ftol=1e-15,gtol=1e-15)
    se=np.sqrt(np.diag(c)); a,b,g=p
    pk=np.sqrt((1-a)/b)
    grad=np.array([-.5/(1-a),-.5/b,0]); sl=np.sqrt(grad@c@grad); q=t.ppf(.975,len(x)-3)
    print(k,[repr(float(v)) for v in p],[repr(float(v)) for v in se],'peak',repr(float(pk)),'logse',repr(float(sl)),'int',pk*np.exp(-q*sl),pk*np.exp(q*sl))
